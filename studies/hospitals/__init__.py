"""The STACK paper: a main hospital and its branches."""
