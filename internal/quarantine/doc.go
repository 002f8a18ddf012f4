// Package quarantine replaces what proxies reject: routes by their last known good version, or by errors, and filters of listeners and
// virtual hosts by errors. Enter at [New]; a step calls [Quarantine.ForgetGood], [Quarantine.ApplyChange] and [Quarantine.Take] before the
// stages run, and [Quarantine.Remember], [Quarantine.Introduce], [Quarantine.Update], [Quarantine.Notices] and [Quarantine.Offer] after
// them. It reads tables of the graph through [Tables]; stages read what it substitutes from [Substitutes]. It must not know the stages, or
// how objects report.
package quarantine
