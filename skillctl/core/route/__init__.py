"""Which agent serves a query: gates, scores, budgets and cascades, over whole batches."""
