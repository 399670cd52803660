"""From images and their truth to what a model learns from: placed in a tensor, mirrored, in other colours."""
