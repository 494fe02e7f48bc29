"""How surely can someone tell whose report or trace this is: bounded for any adversary, measured for real ones."""
