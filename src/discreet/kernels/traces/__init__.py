"""Array functions of traces: their events numbered and counted, and every trace compared with every user."""
