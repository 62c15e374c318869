"""Results as text. The functions compute nothing, read nothing and write nothing."""
