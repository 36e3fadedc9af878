"""An index behind HTTP. Needs the extra ``chamfer[serve]``."""
