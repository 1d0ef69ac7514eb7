"""From corpora to clean, deduplicated, shuffled shards: one plan, on one machine or on a cluster."""
