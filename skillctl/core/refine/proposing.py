"""Proposals of refinement: skills to split, to merge and to add, each with the evidence for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillctl.core.refine.adding import propose_additions
from skillctl.core.refine.merging import propose_merges
from skillctl.core.refine.splitting import propose_splits

if TYPE_CHECKING:
    from skillctl.core.refine.mode_bench import ModeBench, Standing
    from skillctl.core.refine.part_writing import Drawing
    from skillctl.core.refine.refinement import Proposal


def propose_edits(bench: ModeBench, standing: Standing, drawing: Drawing) -> list[Proposal]:
    """Return what the evidence speaks for, strongest first."""
    found = [
        *propose_splits(bench, standing, drawing),
        *propose_merges(bench, standing),
        *propose_additions(bench, standing, drawing),
    ]
    return sorted(found, key=lambda proposal: (-round(proposal.evidence - proposal.threshold, 9), proposal.key[:1]))
