"""Documents and messages of devices and collectors; NumPy, cryptography and the standard library only."""
