"""Private choice among candidate models by their error on rows held out."""
