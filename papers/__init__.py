"""The figures and tables of the papers, made again: artefacts, cells, findings, one report."""
