"""What can be said from released and declared numbers alone: nothing here has ever seen a row."""
