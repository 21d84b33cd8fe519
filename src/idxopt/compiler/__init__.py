"""The compiler: a program lowered to one engine's artifacts and query bodies. Pure; knows no network."""
