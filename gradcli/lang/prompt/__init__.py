"""What the prompt asks about text: completion, whether an input is complete, undo, scripts made of inputs."""
