"""Pages that show figures: HTML elements, tables, inline SVG. No script, no network, escaping in one place."""
