"""Which granularity serves an orchestrator: cuts of the skill trees, scored by replay."""
