"""What every service needs to be run: settings, logs, metrics, health, a lifecycle."""
