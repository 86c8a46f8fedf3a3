"""The operations on expected prompts."""
