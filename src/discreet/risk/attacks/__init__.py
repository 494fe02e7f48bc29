"""Attacks: scores of every trace or report for every user."""
