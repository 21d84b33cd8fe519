"""program.json: schema, validation, canonical form, presets."""
