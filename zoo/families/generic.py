"""The family of the models that have none of their own: their contract is the task's."""

from zoo.families.family import Family
from zoo.tasks import Task
from zoo.tasks.contract import Contract
from zoo.tasks.proof import proof_of


class Generic(Family):
    """Models whose forward gives what the task's proof expects, such as logits, or torchvision's dictionaries."""

    def contract_type(self, task: Task, level: str) -> type[Contract] | None:
        """That of the task itself."""
        return super().contract_type(task, level) or proof_of(task).contracts.get(level)
