module example.org/failing

go 1.27.3
