"""Tables: frames and files as chunks of rows."""
