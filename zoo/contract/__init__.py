"""A model's own outputs as the tensors of the task's contract. Needs torch.

The modules here run unpatched (they are the reference of every comparison) and inside an export alike. torchvision's
detectors take and give one entry for each image; the export's rewriters let the whole padded batch travel as a single
entry with a leading batch axis, and `batched` takes both. The base of contracts is `zoo.tasks.contract`. Which contract
a model has, its family says: zoo.families.
"""
