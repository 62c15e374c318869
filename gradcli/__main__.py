"""`python -m gradcli`."""

from gradcli.cli.app import main

if __name__ == "__main__":
    main()
