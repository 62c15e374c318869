"""The interactive prompt: reads inputs, hands them to a session, shows what comes back. The only user of prompt_toolkit."""
