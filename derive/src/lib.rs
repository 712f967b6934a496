//! `#[derive(Stored)]`, for the crate `rdmawire` only: how a type is kept in the state of an analysis.
//!
//! It says what serde's derives would: the fields one behind the other, and before those of an enum's variant its number. But it says it
//! for one form of file and one reader. serde's derives say it for all that there may be, with names, in fifteen times as many lines.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Field, Fields, Index, Member, Meta, Type, Variant};

/// Implements `crate::stored::Stored`, where the feature `state` is on. A field with `#[stored(skip)]` is not kept: when it is read, it has its
/// type's default.
///
/// # Errors
/// A union; an enum of more than 256 variants; another word than `skip`.
#[proc_macro_derive(Stored, attributes(stored))]
pub fn stored(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let item = syn::parse_macro_input!(item as DeriveInput);
    implemented(&item).unwrap_or_else(syn::Error::into_compile_error).into()
}

fn implemented(item: &DeriveInput) -> syn::Result<TokenStream> {
    let name = &item.ident;
    let (store, restore, types) = match &item.data {
        Data::Struct(data) => {
            // There is no reference to a field of a packed type: it is copied.
            let is_packed = is_packed(item);
            let this = if is_packed { quote!(*self) } else { quote!(self) };
            let Parts { pattern, store, restore, types } = Parts::of(&data.fields, is_packed)?;
            (quote!(let #name #pattern = #this; #store), quote!(#name #restore), types)
        }
        Data::Enum(data) => {
            let (mut stores, mut restores, mut all) = (Vec::new(), Vec::new(), Vec::new());
            for (number, Variant { ident, fields, .. }) in data.variants.iter().enumerate() {
                let number = u8::try_from(number)
                    .map_err(|_| syn::Error::new_spanned(ident, "more than 256 variants"))?;
                let Parts { pattern, store, restore, types } = Parts::of(fields, false)?;
                stores.push(quote!(#name::#ident #pattern => { to.byte(#number); #store }));
                restores.push((number, quote!(#name::#ident #restore)));
                all.extend(types);
            }
            // Of damage, the first one is made: see `Stored::restore`.
            let arms = restores.iter().map(|(number, made)| quote!(#number => #made));
            let (first, none) = (restores.first().map(|(_, made)| made), format!("no {name}"));
            let restore =
                quote!(match from.byte() { #(#arms,)* _ => { let () = from.damage(#none); #first } });
            (quote!(match self { #(#stores)* }), restore, all)
        }
        Data::Union(_) => return Err(syn::Error::new_spanned(name, "a union has no one value")),
    };
    // Of a type with parameters, each field must be one that can be kept.
    let mut generics = item.generics.clone();
    if generics.type_params().next().is_some() {
        let bounds = &mut generics.make_where_clause().predicates;
        types.iter().for_each(|kind| bounds.push(syn::parse_quote!(#kind: crate::stored::Stored)));
    }
    let (parameters, arguments, bounds) = generics.split_for_impl();
    Ok(quote! {
        #[cfg(feature = "state")]
        impl #parameters crate::stored::Stored for #name #arguments #bounds {
            fn store(&self, to: &mut crate::stored::Sink<'_>) {
                #store
            }

            fn restore(from: &mut crate::stored::Spring<'_>) -> Self {
                #restore
            }
        }
    })
}

/// The fields of a struct or a variant.
struct Parts<'a> {
    /// `{ a: field_0, b: _ }`, which fits fields without names too: `{ 0: field_0 }`.
    pattern: TokenStream,
    store: TokenStream,
    /// `{ a: …, b: … }`.
    restore: TokenStream,
    /// Of those that are kept.
    types: Vec<&'a Type>,
}

impl Parts<'_> {
    /// Of fields that the pattern copies, or refers to.
    fn of(fields: &Fields, are_copied: bool) -> syn::Result<Parts<'_>> {
        let (mut patterns, mut stores, mut restores, mut types) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (at, field) in fields.iter().enumerate() {
            let name = field.ident.clone().map_or_else(|| Member::from(Index::from(at)), Member::from);
            if is_skipped(field)? {
                patterns.push(quote!(#name: _));
                restores.push(quote!(#name: ::core::default::Default::default()));
                continue;
            }
            // With the type, the compiler need not find it.
            let (variable, kind) = (format_ident!("field_{at}"), &field.ty);
            let value = if are_copied { quote!(&#variable) } else { quote!(#variable) };
            patterns.push(quote!(#name: #variable));
            stores.push(quote!(<#kind as crate::stored::Stored>::store(#value, to);));
            restores.push(quote!(#name: <#kind as crate::stored::Stored>::restore(from)));
            types.push(kind);
        }
        let (pattern, restore) = (quote!({ #(#patterns),* }), quote!({ #(#restores),* }));
        Ok(Parts { pattern, store: quote!(#(#stores)*), restore, types })
    }
}

fn is_packed(item: &DeriveInput) -> bool {
    let words =
        |meta: &Meta| meta.require_list().is_ok_and(|list| list.tokens.to_string().contains("packed"));
    item.attrs.iter().any(|attribute| attribute.path().is_ident("repr") && words(&attribute.meta))
}

fn is_skipped(field: &Field) -> syn::Result<bool> {
    let mut is_skipped = false;
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("stored")) {
        attribute.parse_nested_meta(|word| {
            is_skipped = word.path.is_ident("skip");
            if is_skipped { Ok(()) } else { Err(word.error("there is `skip` only")) }
        })?;
    }
    Ok(is_skipped)
}
