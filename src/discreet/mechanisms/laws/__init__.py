"""Block laws, one file each: how random blocks are drawn. `discreet.mechanisms.law` adds truth or noise."""
