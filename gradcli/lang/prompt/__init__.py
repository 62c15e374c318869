"""The language at the prompt: completion, whether an input is complete, undo, and scripts made of inputs."""
