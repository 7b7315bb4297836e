"""What TAB offers: never imports the user's file, nor Fiddle, nor JAX."""
