"""One command a file: options, the call into the package, the rendering. Heavy modules are imported inside."""
