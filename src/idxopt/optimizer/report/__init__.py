"""The report of a study: one HTML file with its data in it. `page.render(record)` makes it."""
