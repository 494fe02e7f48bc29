"""Files, folders and URLs. Inputs are checked before they are read. Outputs are written completely, or not at all."""
