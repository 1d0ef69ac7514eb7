"""Words and matrices to figures and pages; no model is known here."""
