"""Block laws, a file each: what is drawn, and nothing else; the law of truth or noise is `discreet.mechanisms.law`."""
