//! The compiler makes the code of an `async fn` in each crate that awaits it, and not where it stands.
//! Behind a pointer it is made once.

use proc_macro::TokenStream;
use quote::quote;
use syn::visit_mut::{self, VisitMut};
use syn::{
    ImplItem, Item, Lifetime, Receiver, ReturnType, Signature, TypeReference, Visibility,
    parse_macro_input, parse_quote,
};

/// Lets an `async fn`, or each one of an `impl` block that is not private, return a boxed future that may be
/// sent to another thread. All that it borrows has one lifetime. An argument, or a field of one, that the body
/// does not name is dropped at the call, before the future runs: a guard has to be named.
#[proc_macro_attribute]
pub fn boxed(_: TokenStream, item: TokenStream) -> TokenStream {
    let mut item = parse_macro_input!(item as Item);
    match &mut item {
        Item::Fn(function) if function.sig.asyncness.is_some() => {
            box_future(&mut function.sig, &mut function.block);
        }
        // All methods of a trait are private here.
        Item::Impl(block) if block.trait_.is_none() => {
            for one in &mut block.items {
                if let ImplItem::Fn(function) = one
                    && function.sig.asyncness.is_some()
                    && !matches!(function.vis, Visibility::Inherited)
                {
                    box_future(&mut function.sig, &mut function.block);
                }
            }
        }
        _ => {
            let why = "only an `async fn`, and an `impl` block without a trait, are boxed";
            return quote!(compile_error!(#why);).into();
        }
    }
    quote!(#item).into()
}

fn box_future(signature: &mut Signature, body: &mut syn::Block) {
    signature.asyncness = None;
    OneLifetime.visit_signature_mut(signature);
    signature.generics.params.insert(0, parse_quote!('boxed));
    let output: syn::Type = match &signature.output {
        ReturnType::Default => parse_quote!(()),
        ReturnType::Type(_, output) => parse_quote!(#output),
    };
    signature.output = parse_quote! {
        -> ::std::pin::Pin<::std::boxed::Box<
            dyn ::std::future::Future<Output = #output> + ::std::marker::Send + 'boxed,
        >>
    };
    *body = parse_quote!({ ::std::boxed::Box::pin(async move #body) });
}

/// Gives all that a function borrows the lifetime of its future.
struct OneLifetime;

impl VisitMut for OneLifetime {
    fn visit_receiver_mut(&mut self, receiver: &mut Receiver) {
        if let Some((_, lifetime)) = &mut receiver.reference {
            lifetime.get_or_insert_with(|| parse_quote!('boxed));
        }
    }

    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        reference
            .lifetime
            .get_or_insert_with(|| parse_quote!('boxed));
        visit_mut::visit_type_reference_mut(self, reference);
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            *lifetime = parse_quote!('boxed);
        }
    }
}
