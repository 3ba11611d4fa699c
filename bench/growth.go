package main

// Growth is measured of the product alone. Each of its tables has a size in each column, so that what stays flat is the same in
// all of them.
const (
	filesTable   = "Growth with the files"
	crowdTable   = "Growth with the listens"
	urisTable    = "Growth with the URIs of a listen"
	changesTable = "Growth with the changes of one burst"
)

// growing files what is measured at one size. Several builds are compared with each other instead, at each size.
func (b *bench) growing(p peer, table, size string) adder {
	return func(what, unit string, value float64) {
		if b.alone {
			b.sheet.add(row{table, what, unit}, size, value)
			return
		}
		b.sheet.add(row{table, size + ": " + what, unit}, p.name, value)
	}
}
