"""What a session answers, as plain data: nothing in it runs a program or refers to a graph."""
