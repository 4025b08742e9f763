"""Which skills a state needs: the interface of every orchestrator, and the embedded one."""
