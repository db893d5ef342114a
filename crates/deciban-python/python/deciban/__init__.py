"""deciban: probabilistic classification that one can base decisions on."""
