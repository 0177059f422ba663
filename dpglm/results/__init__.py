"""What a fit gives back, and how it is put into tables, frames and files."""
