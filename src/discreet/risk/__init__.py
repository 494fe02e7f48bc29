"""How surely can someone tell whose report, or whose trace, this is: bounded for any adversary, measured for real ones."""
