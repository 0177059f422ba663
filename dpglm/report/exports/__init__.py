"""What a fit is filed as: a record of a registry, a research crate, paragraphs for others' documents."""

from typing import Literal, TypeAlias

ExportKind: TypeAlias = Literal["registry", "ro-crate", "dpia", "methods"]
