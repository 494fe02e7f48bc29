"""The collector: it takes reports in, keeps them safe, and seals them."""
