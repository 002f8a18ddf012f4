// Package figures is what a benchmark found out: samples as they were taken, what follows from them, and which goals are reached.
// Enter at [Run]; [Run.Goals] compares it with what must be shown, [Run.Tables] shows it to people.
// It must not know how anything is measured.
package figures
