package attach

// Setting is a named section of the spec S of policies, the unit of merging: it is taken from one policy as a whole.
type Setting[S any] struct {
	// Name is the path of the field below spec, as `rateLimit.local`.
	Name string
	has  func(spec *S) bool
	// take copies the setting from one spec to another. An additive setting is added to what is there.
	take     func(to, from *S)
	additive bool
	levels   levelSet
}

// Pointer is a setting that a policy has where a pointer is not nil. field finds the pointer and must not change the spec.
func Pointer[S, T any](name string, field func(*S) **T) Setting[S] {
	return Setting[S]{
		Name: name,
		has:  func(spec *S) bool { return *field(spec) != nil },
		take: func(to, from *S) { *field(to) = *field(from) },
	}
}

// List is a setting that a policy has where a list is not empty.
func List[S, T any](name string, field func(*S) *[]T) Setting[S] {
	return Setting[S]{
		Name: name,
		has:  func(spec *S) bool { return len(*field(spec)) > 0 },
		take: func(to, from *S) { *field(to) = *field(from) },
	}
}

// Value is a setting below a struct that may be missing. get says whether a policy has it; set stores it in the effective policy, whose
// structs it makes itself: it must not share them with a policy.
func Value[S, T any](name string, get func(*S) (T, bool), set func(*S, T)) Setting[S] {
	return Setting[S]{
		Name: name,
		has: func(spec *S) bool {
			_, ok := get(spec)
			return ok
		},
		take: func(to, from *S) {
			if value, ok := get(from); ok {
				set(to, value)
			}
		},
	}
}

// Whole makes the whole spec one setting, which every policy of the kind has.
func Whole[S any](name string) Setting[S] {
	return Setting[S]{Name: name, has: func(*S) bool { return true }, take: func(to, from *S) { *to = *from }}
}

// Additive is a list that policies of all levels add to, such as authorization, where each must allow. It never conflicts and cannot be
// overridden: a policy that lost would let pass what it forbids.
func Additive[S, T any](name string, field func(*S) *[]T) Setting[S] {
	s := List(name, field)
	s.additive = true
	s.take = func(to, from *S) { *field(to) = append(*field(to), *field(from)...) }
	return s
}

// At restricts a setting to levels. At others it has no effect, which is reported.
func (s Setting[S]) At(list ...Level) Setting[S] {
	s.levels = setOf(list...)
	return s
}

// Has lists the names of the settings that a policy has, in the order of the kind.
func (k *Kind[S]) Has(p *Policy[S]) []string {
	var names []string
	for i := range k.Settings {
		if k.Settings[i].has(&p.Spec) {
			names = append(names, k.Settings[i].Name)
		}
	}
	return names
}
