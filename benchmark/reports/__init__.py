"""Records to text and figures. Nothing here imports a framework or prints."""
