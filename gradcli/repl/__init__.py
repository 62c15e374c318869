"""The interactive prompt: it reads inputs, runs them in a session and shows the values. No other wing uses prompt_toolkit."""
