"""What is found out about values and programs: explanations, checks, descriptions. Over core and lang."""
