"""Charts and curves with Altair, and templates of HTML pages."""
