"""What is asked, what is promised, and the accounting in between."""
